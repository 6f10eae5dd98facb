(function_declaration
  name: (_) @name
  body: (_)? @body) @definition.function

(variable_declaration
  .
  (identifier) @name
  (struct_declaration "{" @body)) @definition.struct

(variable_declaration
  .
  (identifier) @name
  (opaque_declaration "{" @body)) @definition.struct

(variable_declaration
  .
  (identifier) @name
  (union_declaration "{" @body)) @definition.struct

(variable_declaration
  .
  (identifier) @name
  (enum_declaration "{" @body)) @definition.enum

(variable_declaration
  .
  (identifier) @name
  (error_set_declaration "{" @body)) @definition.enum

(test_declaration
  (string) @name
  (block) @body) @definition.function

(struct_declaration
  (variable_declaration
    "const"
    .
    (identifier) @name) @definition.constant)
