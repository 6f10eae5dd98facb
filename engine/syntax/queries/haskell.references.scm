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
  function: [(variable) @call (constructor) @call (_ id: [(variable) (constructor)] @call)])
(infix_id [(variable) @call (constructor) @call (_ id: [(variable) (constructor)] @call)])
(record expression: [(constructor) @call (_ id: (constructor) @call)])

(instance name: [(name) @inherit (_ id: (name) @inherit)])
(deriving_instance name: [(name) @inherit (_ id: (name) @inherit)])
(deriving
  classes: [
    (name) @inherit
    (_ id: (name) @inherit)
    (_ "(" [(name) @inherit (_ id: (name) @inherit)])
  ])

(type/name) @type
(apply constructor: (name) @type)
(qualified id: (name) @type)

(import module: (_ (module_id) @import .))
(import_name [(variable) @import (name) @import])
(import_name children: (_ element: [(constructor) @import (variable) @import]))
