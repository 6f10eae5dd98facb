; C++, in addition to c.references.scm.

(raw_string_literal) @text

; An identifier with template arguments, with a qualifier, with both.
function: (_ name: (identifier) @call arguments: (_))
function: (_
  field: [
    (_ name: (field_identifier) @call arguments: (_))
    (_ "template" (_ name: (field_identifier) @call arguments: (_)))
  ])
function: (_
  "::"
  name: [
    (identifier) @call
    (_ name: (identifier) @call arguments: (_))
    (_
      "::"
      name: [
        (identifier) @call
        (_ name: (identifier) @call arguments: (_))
        (_ "::" name: (identifier) @call)
      ])
  ])
(new_expression
  type: [
    (type_identifier) @call
    (_ name: (type_identifier) @call arguments: (_))
    (_
      "::"
      name: [(type_identifier) @call (_ name: (type_identifier) @call arguments: (_))])
  ])
(compound_literal_expression
  type: [
    (type_identifier) @call
    (_ name: (type_identifier) @call arguments: (_))
    (_
      "::"
      name: [(type_identifier) @call (_ name: (type_identifier) @call arguments: (_))])
  ])

(base_class_clause
  [
    (type_identifier) @inherit
    (_ name: (type_identifier) @inherit arguments: (_))
    (_
      "::"
      name: [
        (type_identifier) @inherit
        (_ name: (type_identifier) @inherit arguments: (_))
        (_ "::" name: (type_identifier) @inherit)
      ])
  ])

(template_type name: (type_identifier) @type)
(placeholder_type_specifier constraint: (type_identifier) @type)

; Type::function(), Enum::value; the type can also be a namespace.
(qualified_identifier
  name: [
    (type_identifier) @type
    (_ scope: (namespace_identifier) @type "::")
  ])
(expression/qualified_identifier scope: (namespace_identifier) @type)

(using_declaration
  (_ "::" name: [(identifier) @import (_ "::" name: (identifier) @import)]))
