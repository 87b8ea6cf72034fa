"""Tables and small charts for notebooks, as HTML without style sheets or scripts, legible on light and dark pages."""
