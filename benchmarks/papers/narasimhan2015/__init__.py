"""The experiments of Narasimhan, Kar and Jain (2015): measures on new samples against the time of training."""
