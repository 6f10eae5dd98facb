(class_definition
  name: (_) @name
  body: (_)? @body) @definition.class

(object_definition
  name: (_) @name
  body: (_)? @body) @definition.class

(package_object
  name: (_) @name
  body: (_)? @body) @definition.module

(trait_definition
  name: (_) @name
  body: (_)? @body) @definition.trait

(enum_definition
  name: (_) @name
  body: (_)? @body) @definition.enum

(given_definition
  name: (_) @name
  body: (_)? @body) @definition.instance

(function_definition
  name: (_) @name
  body: (_) @body) @definition.function

(function_declaration name: (_) @name) @definition.function

(type_definition name: (_) @name) @definition.type

(template_body
  [
    (val_definition pattern: (identifier) @name)
    (var_definition pattern: (identifier) @name)
    (val_declaration name: (identifier) @name)
    (var_declaration name: (identifier) @name)
  ] @definition.property)
