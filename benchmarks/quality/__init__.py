"""How good the models are: against peers, over many data sets and repeated splits."""
