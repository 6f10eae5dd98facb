; Values of modules; ocaml_unit.top.scm has the same patterns for those of the file.
(structure
  (_
    ["let" "and"] @from
    .
    [
      (_
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        .
        (parameter)
        body: (_)? @body)
      (_
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        body: [(fun_expression) (function_expression)] @body)
    ] @definition.function))

(structure
  (_
    ["let" "and"] @from
    .
    (_
      .
      pattern: [
        (value_name) @name
        (parenthesized_operator (_) @name)
        (_ (value_name) @name ",")
        (_ "," (value_name) @name)
        (parenthesized_pattern (_ (value_name) @name ","))
        (parenthesized_pattern (_ "," (value_name) @name))
      ]) @definition.constant))

(value_specification
  [(value_name) @name (parenthesized_operator (_) @name)]
  type: [(function_type) (_ "." (function_type))]) @definition.function

(value_specification
  [(value_name) @name (parenthesized_operator (_) @name)]) @definition.constant

(external [(value_name) @name (parenthesized_operator (_) @name)]) @definition.function

(type_definition
  ["type" "and"] @from
  .
  (_
    name: (type_constructor) @name
    body: (record_declaration) @body) @definition.struct)

(type_definition
  ["type" "and"] @from
  .
  (_
    name: (type_constructor) @name
    body: (variant_declaration) @body) @definition.enum)

(type_definition
  ["type" "and"] @from
  .
  (_
    name: (type_constructor) @name
    body: (polymorphic_variant_type) @body) @definition.enum)

(type_definition
  ["type" "and"] @from
  .
  (_ name: (type_constructor) @name) @definition.type)

body: (polymorphic_variant_type (_ . (tag) @name) @definition.constructor)

(exception_definition
  (constructor_declaration . (constructor_name) @name)) @definition.constructor

(constructor_declaration . (constructor_name) @name) @definition.constructor

(field_declaration (field_name) @name) @definition.field

(module_definition
  ["module" "and"] @from
  .
  (_
    (module_name) @name
    module_type: (signature) @body) @definition.module)

(module_definition
  ["module" "and"] @from
  .
  (_
    (module_name) @name
    body: (structure)? @body) @definition.module)

(module_type_definition
  (module_type_name) @name
  body: (signature)? @body) @definition.interface

(class_definition
  ["class" "and"] @from
  .
  (_
    (class_name) @name
    body: (_)? @body) @definition.class)

(class_type_definition
  (_
    (class_type_name) @name
    body: (_)? @body)) @definition.interface

(method_definition
  (method_name) @name
  body: (_)? @body) @definition.method

(method_specification (method_name) @name) @definition.method

(instance_variable_definition (instance_variable_name) @name) @definition.field
