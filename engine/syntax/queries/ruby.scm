(module) @definition.module

(class) @definition.class

(singleton_class value: (_) @name) @scope

(method) @definition.method

(_ object: (constant) @receiver name: (_)) @definition.method

(singleton_method) @definition.method

; private def name …
(_
  method: (identifier)
  arguments: (_ . [(method) (singleton_method)] @inner .)) @wrapper

(_ left: (constant) @name "=") @definition.constant

; define_method(:name), scope :name, …
(_
  method: (identifier) @keyword
  arguments: (_ . (simple_symbol) @name)) @definition.call_keyword

; attr_reader :a, :b
(_
  method: (identifier) @keyword
  arguments: (_ (simple_symbol) @name)) @definition.accessor

(body_statement (identifier) @visibility)
