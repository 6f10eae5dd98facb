; The names that a text refers to, by role; see references.py.

[
  (comment)
  (haddock)
  (pragma)
  (string)
  (char)
  (quasiquote_body)
] @text

(apply
  function: [(variable) @call (constructor) @call (qualified id: [(variable) (constructor)] @call)])
(infix_id [(variable) @call (constructor) @call (qualified id: [(variable) (constructor)] @call)])
(record expression: [(constructor) @call (qualified id: (constructor) @call)])

(instance name: [(name) @inherit (qualified id: (name) @inherit)])
(deriving_instance name: [(name) @inherit (qualified id: (name) @inherit)])
(deriving
  classes: [
    (name) @inherit
    (qualified id: (name) @inherit)
    (tuple [(name) @inherit (qualified id: (name) @inherit)])
    (parens [(name) @inherit (qualified id: (name) @inherit)])
  ])

(type/name) @type
(apply constructor: (name) @type)
(qualified id: (name) @type)

(import module: (module (module_id) @import .))
(import_name [(variable) @import (name) @import])
(import_name children: (children element: [(constructor) @import (variable) @import]))
