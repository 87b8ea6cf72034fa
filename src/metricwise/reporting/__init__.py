"""What a model does, for the meeting afterwards: the report with its explorer, and pictures for notebooks."""
