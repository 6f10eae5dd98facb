(module
  name: (_) @name
  body: (_)? @body) @definition.module

(class
  name: (_) @name
  body: (_)? @body) @definition.class

(singleton_class value: (_) @name) @scope

(method
  name: (_) @name
  body: (_)? @body) @definition.method

(singleton_method
  object: (constant) @receiver
  name: (_) @name
  body: (_)? @body) @definition.method

(singleton_method
  name: (_) @name
  body: (_)? @body) @definition.method

; private def name …
(call
  method: (identifier)
  arguments: (argument_list . [(method) (singleton_method)] @inner .)) @wrapper

(assignment left: (constant) @name) @definition.constant

; define_method(:name), scope :name, …
(call
  method: (identifier) @keyword
  arguments: (argument_list . (simple_symbol) @name)) @definition.call_keyword

; attr_reader :a, :b
(call
  method: (identifier) @keyword
  arguments: (argument_list (simple_symbol) @name)) @definition.accessor

(body_statement (identifier) @visibility)
