; Matched against the top of the file only.

(module
  (expression_statement
    (assignment left: (identifier) @name)) @definition.variable)
