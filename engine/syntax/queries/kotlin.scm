; Of several annotations the first may be read as one of an expression.
(annotated_expression
  (annotation)
  [
    (class_declaration)
    (object_declaration)
    (function_declaration)
    (property_declaration)
    (infix_expression)
    (annotated_expression)
  ] @inner) @wrapper

; An annotated class whose head is a name alone may be read as an infix call: class Name { … }.
(annotated_expression
  (infix_expression
    (identifier) @keyword
    .
    (identifier) @name
    .
    (lambda_literal)? @body
    .) @definition.class_keyword)

(annotated_expression
  (infix_expression
    (identifier) @keyword
    .
    (call_expression
      .
      (identifier) @name
      (annotated_lambda) @body)) @definition.class_keyword)

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

; Without a name its members are those of the class around it.
(companion_object
  name: (_) @name
  (class_body)? @body) @definition.class

; Extension functions stand outside the type that they extend.
(function_declaration
  [
    (user_type (identifier) @receiver .)
    (user_type (identifier) @receiver . (type_arguments))
    (nullable_type (user_type (identifier) @receiver .))
    (nullable_type (user_type (identifier) @receiver . (type_arguments)))
  ]
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

; Extension properties stand outside the type that they extend, too, and hold no value.
(property_declaration
  [
    (user_type (identifier) @receiver .)
    (user_type (identifier) @receiver . (type_arguments))
    (nullable_type (user_type (identifier) @receiver .))
    (nullable_type (user_type (identifier) @receiver . (type_arguments)))
  ]
  .
  (variable_declaration . (identifier) @name)) @definition.property

(class_body
  (property_declaration
    (variable_declaration . (identifier) @name)) @definition.property)

(enum_class_body
  (property_declaration
    (variable_declaration . (identifier) @name)) @definition.property)
