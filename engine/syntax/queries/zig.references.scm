; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
  (character)
  (multiline_string)
] @text

(call_expression function: [(identifier) @call (field_expression member: (identifier) @call)])
(struct_initializer . [(identifier) @call (field_expression member: (identifier) @call)])

(_ type: [(identifier) @type (field_expression member: (identifier) @type)])
(function_declaration
  (error_union_type [(identifier) @type (field_expression member: (identifier) @type)]))
(pointer_type [(identifier) @type (field_expression member: (identifier) @type)])
(nullable_type [(identifier) @type (field_expression member: (identifier) @type)])
(slice_type [(identifier) @type (field_expression member: (identifier) @type)])
(array_type [(identifier) @type (field_expression member: (identifier) @type)] .)
(union_declaration (identifier) @type)

; const Name = @import("file.zig").Name;
(variable_declaration
  (field_expression object: (builtin_function) member: (identifier) @import))
