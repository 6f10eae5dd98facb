; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_literal_content)
  (string_content)
  (verbatim_string_literal)
  (raw_string_content)
  (character_literal)
] @text

; f(), a.f() and the rest of a?.f() each with f<T>(), a?.f()
(invocation_expression
  function: [
    (identifier) @call
    (generic_name . (identifier) @call)
    (_ name: [(identifier) @call (generic_name . (identifier) @call)])
    (conditional_access_expression
      (member_binding_expression name: [(identifier) @call (generic_name . (identifier) @call)]))
  ])
(object_creation_expression
  type: [
    (identifier) @call
    (generic_name . (identifier) @call)
    (qualified_name name: [(identifier) @call (generic_name . (identifier) @call)])
  ])
(attribute name: [(identifier) @call (qualified_name name: (identifier) @call)])

(base_list
  [
    (identifier) @inherit
    (generic_name . (identifier) @inherit)
    (qualified_name name: [(identifier) @inherit (generic_name . (identifier) @inherit)])
    (primary_constructor_base_type
      type: [(identifier) @inherit (generic_name . (identifier) @inherit)])
  ])

(type/identifier) @type
(type/qualified_name name: (identifier) @type)
(nullable_type type: [(identifier) @type (qualified_name name: (identifier) @type)])
(array_type type: [(identifier) @type (qualified_name name: (identifier) @type)])
(generic_name . (identifier) @type)
(constant_pattern (identifier) @type)

(using_directive !name [(identifier) @import (qualified_name name: (identifier) @import)])
(using_directive name: (_) (qualified_name name: (identifier) @import))
