"""Any classifier that takes sample weights made measure-aware by class weights."""
