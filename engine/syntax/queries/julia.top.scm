(source_file
  [
    (assignment . (identifier) @name)
    (assignment . (typed_expression . (identifier) @name))
    (global_statement (assignment . (identifier) @name))
  ] @definition.variable)
