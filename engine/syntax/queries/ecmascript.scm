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

(class_declaration) @definition.class

(method_definition) @definition.method

; const name = () => …
(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)] @holder)) @definition.function

(variable_declaration
  (variable_declarator
    name: (identifier) @name
    value: [
      (arrow_function) @holder
      (function_expression) @holder
      (generator_function) @holder
      (_ "=" right: (function_expression) @holder)
    ])) @definition.function

(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: (class) @holder)) @definition.class

(variable_declaration
  (variable_declarator
    name: (identifier) @name
    value: (class) @holder)) @definition.class

; exports.name = function …, Type.prototype.name = function …
(expression_statement
  (_
    left: (_
      object: (_) @receiver
      property: (_) @name)
    "="
    right: [(arrow_function) (function_expression) (generator_function)] @holder)) @definition.function

(expression_statement
  (_
    left: (_
      object: (_) @receiver
      property: (_) @name)
    "="
    right: (class) @holder)) @definition.class

; module.exports = { name() {}, name: function () {} }
(expression_statement
  (_
    left: (_) @name
    "="
    right: (object))) @scope.object

(export_statement
  "default" @name
  value: [(arrow_function) (function_expression !name)] @holder) @definition.function

(export_statement
  "default" @name
  value: (class !name) @holder) @definition.class

; A call with a named function as an argument defines it: on('event', function name() {}).
(expression_statement
  (_ function: (_) arguments: (_ (function_expression name: (_)) @inner))) @wrapper

; The own name of a function, if it gets no other: f(function name() {}).
(function_expression
  name: (identifier) @name
  body: (_) @body) @definition.function

(generator_function
  name: (identifier) @name
  body: (_) @body) @definition.function

(class name: (_)) @definition.class
