; The names that a text refers to, by role; see references.py.

(comment) @text
(string_content) @text
(string_start) @text.prefix

function: (identifier) @call
function: (_ attribute: (identifier) @call)
(decorator [(identifier) @call (_ attribute: (identifier) @call)])

superclasses: (_
  [
    (identifier) @inherit
    (_ attribute: (identifier) @inherit)
    (_ value: (identifier) @inherit subscript: (_))
    (_ value: (_ attribute: (identifier) @inherit) subscript: (_))
  ])

(type
  [
    (identifier) @type
    (_ attribute: (identifier) @type)
    (_ value: (identifier) @type subscript: (_))
    (_ subscript: (identifier) @type)
    (_ subscript: (tuple (identifier) @type))
    (list (identifier) @type)
    (binary_operator [(identifier) @type (binary_operator (identifier) @type)])
  ])
(generic_type (identifier) @type)
(except_clause
  [
    (identifier) @type
    (_ attribute: (identifier) @type)
    (tuple (identifier) @type)
    (as_pattern [(identifier) @type (tuple (identifier) @type)])
  ])

(import_statement
  name: [
    (dotted_name (identifier) @import .)
    (_ name: (dotted_name (identifier) @import .))
  ])
(import_from_statement
  name: [
    (dotted_name (identifier) @import .)
    (_ name: (dotted_name (identifier) @import .))
  ])
