"""Text to what it states of the person: rules first, then the model."""

from memcli.extract.forgetting import forget_request
from memcli.extract.rules import by_rules

__all__ = ["by_rules", "forget_request"]
