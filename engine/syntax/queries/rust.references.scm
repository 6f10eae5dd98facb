; The names that a text refers to, by role; see references.py.

(line_comment) @text
(block_comment) @text
(string_literal) @text
(raw_string_literal) @text
(char_literal) @text

(call_expression
  function: [
    (identifier) @call
    (field_expression field: (field_identifier) @call)
    (scoped_identifier name: (identifier) @call)
    (generic_function
      function: [
        (identifier) @call
        (field_expression field: (field_identifier) @call)
        (scoped_identifier name: (identifier) @call)
      ])
  ])
(macro_invocation
  macro: [(identifier) @call (scoped_identifier name: (identifier) @call)])
(struct_expression
  name: [
    (type_identifier) @call
    (scoped_type_identifier name: (type_identifier) @call)
    (generic_type_with_turbofish type: (type_identifier) @call)
  ])
(attribute [(identifier) @call (scoped_identifier name: (identifier) @call)])
; In the tokens of a macro call.
(token_tree (identifier) @call . (token_tree . "("))
(token_tree (identifier) @call . "!" . (token_tree))

(impl_item
  trait: [
    (type_identifier) @inherit
    (scoped_type_identifier name: (type_identifier) @inherit)
    (generic_type type: (type_identifier) @inherit)
    (generic_type type: (scoped_type_identifier name: (type_identifier) @inherit))
  ])
(trait_item
  bounds: (trait_bounds
    [
      (type_identifier) @inherit
      (scoped_type_identifier name: (type_identifier) @inherit)
      (generic_type type: (type_identifier) @inherit)
    ]))

; The name that an item or a type parameter defines is no _type.
(_type/type_identifier) @type
(generic_type type: (type_identifier) @type)
(scoped_type_identifier name: (type_identifier) @type)
(struct_pattern type: (type_identifier) @type)
(tuple_struct_pattern type: (identifier) @type)

; Type::function(), Enum::Variant; the type can also be a module.
(call_expression
  function: (scoped_identifier
    path: [(identifier) @type (scoped_identifier name: (identifier) @type)]))
(call_expression
  function: (generic_function function: (scoped_identifier path: (identifier) @type)))
(_expression/scoped_identifier
  path: [(identifier) @type (scoped_identifier name: (identifier) @type)])
(_pattern/scoped_identifier
  path: [(identifier) @type (scoped_identifier name: (identifier) @type)])
(tuple_struct_pattern type: (scoped_identifier path: (identifier) @type))
(tuple_struct_pattern type: (scoped_identifier name: (identifier) @type))
(struct_expression name: (scoped_type_identifier path: (identifier) @type))
(struct_pattern type: (scoped_type_identifier path: (identifier) @type))

(use_declaration argument: [(identifier) @import (scoped_identifier name: (identifier) @import)])
(use_list [(identifier) @import (scoped_identifier name: (identifier) @import)])
(use_as_clause path: [(identifier) @import (scoped_identifier name: (identifier) @import)])
