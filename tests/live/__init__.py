"""The same scenarios against real models; deselected unless the variables name them (README, "Test")."""
