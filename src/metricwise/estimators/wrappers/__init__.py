"""Any learner made measure-aware."""
