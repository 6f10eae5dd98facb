; The names that a text refers to, by role; see references.py.

(comment) @text
(interpreted_string_literal) @text
(raw_string_literal) @text
(rune_literal) @text

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression field: (field_identifier) @call))
(call_expression function: (index_expression operand: (identifier) @call))
(call_expression
  function: (index_expression operand: (selector_expression field: (field_identifier) @call)))
; name[T](…) reads as a conversion.
(type_conversion_expression type: (generic_type type: (type_identifier) @call))
(type_conversion_expression
  type: (generic_type type: (qualified_type name: (type_identifier) @call)))

(composite_literal type: (type_identifier) @call)
(composite_literal type: (qualified_type name: (type_identifier) @call))
(composite_literal type: (generic_type type: (type_identifier) @call))
(composite_literal type: (generic_type type: (qualified_type name: (type_identifier) @call)))

; Embedded types.
(field_declaration !name type: (type_identifier) @inherit)
(field_declaration !name type: (qualified_type name: (type_identifier) @inherit))
(field_declaration !name type: (generic_type type: (type_identifier) @inherit))
(field_declaration
  !name
  type: (generic_type type: (qualified_type name: (type_identifier) @inherit)))
(interface_type (type_elem . (type_identifier) @inherit .))
(interface_type (type_elem . (qualified_type name: (type_identifier) @inherit) .))

; The name that a type_spec defines is no _simple_type.
(_simple_type/type_identifier) @type
(composite_literal type: (slice_type element: (type_identifier) @type))
(qualified_type name: (type_identifier) @type)
(generic_type type: (type_identifier) @type)
