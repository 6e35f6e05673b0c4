"""One file per family of causes; a rule is a pure function from evidence to a finding."""
