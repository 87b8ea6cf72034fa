"""The experiments of Yang et al. (2015): joint sparse coding beside four other methods that train for a measure."""
