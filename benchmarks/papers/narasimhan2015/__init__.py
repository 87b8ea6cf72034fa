"""The experiments of Narasimhan, Kar and Jain (2015): measures on new rows against the time of training."""
