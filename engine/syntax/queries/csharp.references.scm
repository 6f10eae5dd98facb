; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_literal_content)
  (string_content)
  (verbatim_string_literal)
  (raw_string_content)
  (character_literal)
] @text

(invocation_expression
  function: [
    (identifier) @call
    (generic_name . (identifier) @call)
    (member_access_expression name: (identifier) @call)
    (member_access_expression name: (generic_name . (identifier) @call))
    (conditional_access_expression (member_binding_expression name: (identifier) @call))
    (conditional_access_expression
      (member_binding_expression name: (generic_name . (identifier) @call)))
  ])
; a?.B(): the call is within the access
(invocation_expression
  function: (member_binding_expression name: (identifier) @call))
(invocation_expression
  function: (member_binding_expression name: (generic_name . (identifier) @call)))

(object_creation_expression
  type: [
    (identifier) @call
    (generic_name . (identifier) @call)
    (qualified_name name: (identifier) @call)
    (qualified_name name: (generic_name . (identifier) @call))
  ])
(attribute name: (identifier) @call)
(attribute name: (qualified_name name: (identifier) @call))

(base_list
  [
    (identifier) @inherit
    (generic_name . (identifier) @inherit)
    (qualified_name name: (identifier) @inherit)
    (qualified_name name: (generic_name . (identifier) @inherit))
    (primary_constructor_base_type type: (identifier) @inherit)
    (primary_constructor_base_type type: (generic_name . (identifier) @inherit))
  ])

(generic_name . (identifier) @type)
(_ type: (identifier) @type)
(_ type: (qualified_name name: (identifier) @type))
(method_declaration returns: (identifier) @type)
(method_declaration returns: (qualified_name name: (identifier) @type))
(type_argument_list (identifier) @type)
(type_argument_list (qualified_name name: (identifier) @type))
(as_expression right: (identifier) @type)
(is_expression right: (identifier) @type)
(is_pattern_expression pattern: (constant_pattern (identifier) @type))

(using_directive !name (identifier) @import)
(using_directive (qualified_name name: (identifier) @import))
