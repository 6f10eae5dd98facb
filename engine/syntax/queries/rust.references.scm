; The names that a text refers to, by role; see references.py.

(line_comment) @text
(block_comment) @text
(string_literal) @text
(raw_string_literal) @text
(char_literal) @text

(call_expression
  function: [
    (identifier) @call
    (_ field: (field_identifier) @call)
    (_ "::" name: (identifier) @call)
    (_
      function: [
        (identifier) @call
        (_ field: (field_identifier) @call)
        (_ "::" name: (identifier) @call)
      ]
      type_arguments: (_))
  ])
macro: (identifier) @call
macro: (_ name: (identifier) @call)
(struct_expression
  name: [
    (type_identifier) @call
    (_ name: (type_identifier) @call)
    (_ type: (type_identifier) @call)
  ])
(attribute [(identifier) @call (_ "::" name: (identifier) @call)])
; In the tokens of a macro call.
(token_tree (identifier) @call . (token_tree . "("))
(token_tree (identifier) @call . "!" . (token_tree))

(impl_item
  trait: [
    (type_identifier) @inherit
    (_ "::" name: (type_identifier) @inherit)
    (_ type: (type_identifier) @inherit type_arguments: (_))
    (_ type: (_ "::" name: (type_identifier) @inherit) type_arguments: (_))
  ])
(trait_item
  bounds: (_
    [
      (type_identifier) @inherit
      (_ "::" name: (type_identifier) @inherit)
      (_ type: (type_identifier) @inherit type_arguments: (_))
    ]))

; The name that an item or a type parameter defines is no _type.
(_type/type_identifier) @type
(generic_type type: (type_identifier) @type)
(scoped_type_identifier name: (type_identifier) @type)
(struct_pattern type: (type_identifier) @type)
(tuple_struct_pattern type: (identifier) @type)

; Type::function(), Enum::Variant; the type can also be a module.
(call_expression
  function: [
    (_ path: [(identifier) @type (_ "::" name: (identifier) @type)] "::")
    (_ function: (_ path: (identifier) @type "::") type_arguments: (_))
  ])
(_expression/scoped_identifier
  path: [(identifier) @type (_ "::" name: (identifier) @type)])
(_pattern/scoped_identifier
  path: [(identifier) @type (_ "::" name: (identifier) @type)])
(tuple_struct_pattern
  type: [(_ path: (identifier) @type "::") (_ "::" name: (identifier) @type)])
(struct_expression name: (_ path: (identifier) @type "::"))
(struct_pattern type: (_ path: (identifier) @type "::"))

(use_declaration argument: [(identifier) @import (_ "::" name: (identifier) @import)])
(use_list [(identifier) @import (_ "::" name: (identifier) @import)])
(use_as_clause path: [(identifier) @import (_ "::" name: (identifier) @import)])
