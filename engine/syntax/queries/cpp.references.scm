; C++, in addition to c.references.scm.

(raw_string_literal) @text

(call_expression
  function: [
    (template_function name: (identifier) @call)
    (field_expression
      field: [
        (template_method name: (field_identifier) @call)
        (dependent_name (template_method name: (field_identifier) @call))
      ])
    (qualified_identifier
      name: [
        (identifier) @call
        (template_function name: (identifier) @call)
        (qualified_identifier
          name: [
            (identifier) @call
            (template_function name: (identifier) @call)
            (qualified_identifier name: (identifier) @call)
          ])
      ])
  ])
(new_expression
  type: [
    (type_identifier) @call
    (template_type name: (type_identifier) @call)
    (qualified_identifier
      name: [(type_identifier) @call (template_type name: (type_identifier) @call)])
  ])
(compound_literal_expression
  type: [
    (type_identifier) @call
    (template_type name: (type_identifier) @call)
    (qualified_identifier
      name: [(type_identifier) @call (template_type name: (type_identifier) @call)])
  ])

(base_class_clause
  [
    (type_identifier) @inherit
    (template_type name: (type_identifier) @inherit)
    (qualified_identifier
      name: [
        (type_identifier) @inherit
        (template_type name: (type_identifier) @inherit)
        (qualified_identifier name: (type_identifier) @inherit)
      ])
  ])

(template_type name: (type_identifier) @type)
(qualified_identifier name: (type_identifier) @type)
(placeholder_type_specifier constraint: (type_identifier) @type)

; Type::function(), Enum::value; the type can also be a namespace.
(expression/qualified_identifier scope: (namespace_identifier) @type)
(qualified_identifier name: (qualified_identifier scope: (namespace_identifier) @type))

(using_declaration
  (qualified_identifier
    name: [(identifier) @import (qualified_identifier name: (identifier) @import)]))
