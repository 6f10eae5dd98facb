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
    (_ . (identifier) @call (type_argument_list))
    (_ name: [(identifier) @call (_ . (identifier) @call (type_argument_list))])
    (_
      condition: (_)
      (member_binding_expression name: [(identifier) @call (_ . (identifier) @call (type_argument_list))]))
  ])
(object_creation_expression
  type: [
    (identifier) @call
    (_ . (identifier) @call (type_argument_list))
    (_ qualifier: (_) name: [(identifier) @call (_ . (identifier) @call (type_argument_list))])
  ])
(attribute name: [(identifier) @call (_ qualifier: (_) name: (identifier) @call)])

(base_list
  [
    (identifier) @inherit
    (_ . (identifier) @inherit (type_argument_list))
    (_ qualifier: (_) name: [(identifier) @inherit (_ . (identifier) @inherit (type_argument_list))])
    (primary_constructor_base_type
      type: [(identifier) @inherit (_ . (identifier) @inherit (type_argument_list))])
  ])

(type/identifier) @type
(type/qualified_name name: (identifier) @type)
(nullable_type type: [(identifier) @type (_ qualifier: (_) name: (identifier) @type)])
(array_type type: [(identifier) @type (_ qualifier: (_) name: (identifier) @type)])
(generic_name . (identifier) @type)
(constant_pattern (identifier) @type)

(using_directive !name [(identifier) @import (_ qualifier: (_) name: (identifier) @import)])
(using_directive name: (_) (_ qualifier: (_) name: (identifier) @import))
