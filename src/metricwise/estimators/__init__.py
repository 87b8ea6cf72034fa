"""What users import: parameters, validation and scikit-learn's conventions. The mathematics is elsewhere."""
