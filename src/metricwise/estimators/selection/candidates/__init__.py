"""Candidates for model selection: learners that suit the measure, the number of samples and their kind."""
