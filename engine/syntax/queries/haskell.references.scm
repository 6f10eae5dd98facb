; The names that a text refers to, by role; see references.py.

[
  (comment)
  (haddock)
  (pragma)
  (string)
  (char)
  (quasiquote_body)
] @text

(apply function: [(variable) (constructor)] @call)
(apply function: (qualified id: [(variable) (constructor)] @call))
(infix_id [(variable) (constructor)] @call)
(infix_id (qualified id: [(variable) (constructor)] @call))
(record expression: (constructor) @call)
(record expression: (qualified id: (constructor) @call))

(instance name: (name) @inherit)
(instance name: (qualified id: (name) @inherit))
(deriving_instance name: (name) @inherit)
(deriving classes: (name) @inherit)
(deriving classes: (qualified id: (name) @inherit))
(deriving classes: (tuple (name) @inherit))
(deriving classes: (tuple (qualified id: (name) @inherit)))

; What has a name of its own is a definition.
(_ !name (name) @type)
(prefix (name) @type)
(field type: (name) @type)
(signature type: (name) @type)
(type_synonym type: (name) @type)

(import module: (module (module_id) @import .))
(import_name variable: (variable) @import)
(import_name type: (name) @import)
(import_name children: (children element: (constructor) @import))
(import_name children: (children element: (variable) @import))
