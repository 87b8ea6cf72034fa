"""Model selection for a measure: candidates, successive halving, an ensemble of the best."""
