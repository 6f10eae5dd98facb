(class_declaration
  "interface"
  name: (_) @name
  (class_body)? @body) @definition.interface

(class_declaration
  (modifiers (class_modifier "enum"))
  name: (_) @name
  (enum_class_body)? @body) @definition.enum

(class_declaration
  name: (_) @name
  (class_body)? @body) @definition.class

(object_declaration
  name: (_) @name
  (class_body)? @body) @definition.class

; Extension functions stand outside of the type that they extend.
(function_declaration
  (user_type . (identifier) @receiver)
  .
  name: (_) @name
  (function_body)? @body) @definition.function

(function_declaration
  name: (_) @name
  (function_body)? @body) @definition.function

(secondary_constructor
  "constructor" @name
  (block)? @body) @definition.constructor

(type_alias type: (identifier) @name) @definition.type

(class_body
  (property_declaration
    (variable_declaration . (identifier) @name)) @definition.property)
