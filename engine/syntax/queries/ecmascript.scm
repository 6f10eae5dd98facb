; Shared by JavaScript and TypeScript.

(export_statement declaration: (_) @inner) @wrapper.export
(export_statement value: (_) @inner) @wrapper.export

; Names exported by a list or assigned to module.exports.
(export_specifier name: (identifier) @exported)
(export_statement value: (identifier) @exported)

(function_declaration
  name: (identifier) @name
  body: (statement_block) @body) @definition.function

(generator_function_declaration
  name: (identifier) @name
  body: (statement_block) @body) @definition.function

(class_declaration
  name: (_) @name
  body: (class_body) @body) @definition.class

(method_definition
  name: (_) @name
  body: (statement_block) @body) @definition.method

; const name = () => …
(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: [
      (arrow_function body: (_) @body)
      (function_expression body: (_) @body)
      (generator_function body: (_) @body)
    ])) @definition.function

(variable_declaration
  (variable_declarator
    name: (identifier) @name
    value: [
      (arrow_function body: (_) @body)
      (function_expression body: (_) @body)
      (generator_function body: (_) @body)
      (assignment_expression right: (function_expression body: (_) @body))
    ])) @definition.function

(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: (class body: (_) @body))) @definition.class

(variable_declaration
  (variable_declarator
    name: (identifier) @name
    value: (class body: (_) @body))) @definition.class

; exports.name = function …, Type.prototype.name = function …
(expression_statement
  (assignment_expression
    left: (member_expression
      object: (_) @receiver
      property: (_) @name)
    right: [
      (arrow_function body: (_) @body)
      (function_expression body: (_) @body)
      (generator_function body: (_) @body)
    ])) @definition.function

(expression_statement
  (assignment_expression
    left: (member_expression
      object: (_) @receiver
      property: (_) @name)
    right: (class body: (_) @body))) @definition.class

; module.exports = { name() {}, name: function () {} }
(expression_statement
  (assignment_expression
    left: (_) @name
    right: (object))) @scope.object

(export_statement
  "default" @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression !name body: (_) @body)
    (class !name body: (_) @body)
  ]) @definition.function

; A call with a named function as an argument defines it: on('event', function name() {}).
(expression_statement
  (call_expression
    arguments: (arguments (function_expression name: (_)) @inner))) @wrapper

; The own name of a function, if it gets no other: f(function name() {}).
(function_expression
  name: (identifier) @name
  body: (_) @body) @definition.function

(generator_function
  name: (identifier) @name
  body: (_) @body) @definition.function

(class
  name: (_) @name
  body: (class_body) @body) @definition.class
