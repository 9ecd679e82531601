"""Regular expressions of subscriptions and of administrators: the syntax of RE2/J, full matches, linear time."""

from kafkawire.broker.groups.consumer.patterns.alphabet import Alphabet
from kafkawire.broker.groups.consumer.patterns.automaton import Pattern, compile_for, compile_pattern

__all__ = ["Alphabet", "Pattern", "compile_for", "compile_pattern"]
