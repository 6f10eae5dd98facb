(function_declaration) @definition.function

(variable_declaration
  .
  (identifier) @name
  (_ ["struct" "opaque" "union"] "{" @body)) @definition.struct

(variable_declaration
  .
  (identifier) @name
  (_ ["enum" "error"] "{" @body)) @definition.enum

(test_declaration
  (string) @name
  (block) @body) @definition.function

(struct_declaration
  (_
    "const"
    .
    (identifier) @name) @definition.constant)
