; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
  (character)
  (multiline_string)
] @text

function: [(identifier) @call (_ member: (identifier) @call)]
(struct_initializer . [(identifier) @call (_ member: (identifier) @call)])

(_ type: [(identifier) @type (_ member: (identifier) @type)])
(function_declaration (_ error: [(identifier) @type (_ member: (identifier) @type)]))
(function_declaration (_ ok: [(identifier) @type (_ member: (identifier) @type)]))
(pointer_type [(identifier) @type (_ member: (identifier) @type)])
(nullable_type [(identifier) @type (_ member: (identifier) @type)])
(slice_type [(identifier) @type (_ member: (identifier) @type)])
(array_type [(identifier) @type (_ member: (identifier) @type)] .)
(union_declaration (identifier) @type)

; const Name = @import("file.zig").Name;
(variable_declaration
  (_ object: (builtin_function) member: (identifier) @import))
