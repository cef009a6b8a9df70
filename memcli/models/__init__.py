"""The models that are asked: embedders, chat models, and which one it is."""
