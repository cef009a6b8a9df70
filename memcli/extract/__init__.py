"""Text to what it states of the person: rules first, then the model."""
