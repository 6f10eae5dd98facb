(exports) @exported.list
(export variable: (_) @exported)
(export type: (_) @exported)
(export operator: (prefix_id (_) @exported))

(data_type name: (_) @name) @definition.struct
(newtype name: (_) @name) @definition.struct
(type_synonym name: (_) @name) @definition.type
(type_family name: (_) @name) @definition.type
(data_family name: (_) @name) @definition.type
(pattern_synonym (_ synonym: (_ function: (_) @name))) @definition.function

(data_constructor (_ name: (_) @name)) @definition.constructor
(newtype_constructor) @definition.constructor
(gadt_constructor name: (_) @name) @definition.constructor

(class
  name: (_) @name
  "where"? @body) @definition.class

(instance
  name: (_) @name
  patterns: (_)? @until
  "where"? @body) @definition.instance

(class_declarations
  [
    (_ name: (variable) @name)
    (signature name: (_ (_) @name))
    (_ name: (_ (_) @name) patterns: (_) match: (_))
    (_ names: (binding_list name: (_) @name))
  ] @definition.method)

(instance_declarations
  [
    (_ name: [(variable) @name (_ (_) @name)] match: (_))
    (function (_ operator: (_) @name))
  ] @definition.method)
