(source_file
  (_
    (_ mutability: "let")
    name: (_ bound_identifier: (_) @name)) @definition.constant)

(source_file
  (_
    (value_binding_pattern)
    name: (_ bound_identifier: (_) @name)) @definition.variable)
