; Wrappers carry decorators; the definition inside keeps its own signature.
(decorated_definition definition: (_) @inner) @wrapper

(function_definition
  name: (identifier) @name
  body: (block) @body) @definition.function

(class_definition
  name: (identifier) @name
  body: (block) @body) @definition.class

(type_alias_statement
  left: (type (identifier) @name)) @definition.type
