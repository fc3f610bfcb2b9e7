"""Small demo models: the word problems that they learn to solve."""
