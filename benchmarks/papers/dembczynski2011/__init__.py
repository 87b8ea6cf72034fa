"""Dembczyński, Waegeman, Cheng and Hüllermeier (2011): exact maximisation of the F-measure."""
