"""The language server: findings, repairs and pages of rules in an editor, as its user types."""
