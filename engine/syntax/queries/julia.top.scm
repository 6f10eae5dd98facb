(source_file
  [
    (assignment . (identifier) @name)
    (assignment . (_ . (identifier) @name "::"))
    (global_statement (assignment . (identifier) @name))
  ] @definition.variable)
