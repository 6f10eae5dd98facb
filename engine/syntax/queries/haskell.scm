(exports) @exported.list
(export variable: (_) @exported)
(export type: (_) @exported)
(export operator: (prefix_id (_) @exported))

(data_type name: (_) @name) @definition.struct
(newtype name: (_) @name) @definition.struct
(type_synonym name: (_) @name) @definition.type
(type_family name: (_) @name) @definition.type
(data_family name: (_) @name) @definition.type
(pattern_synonym (equation synonym: (apply function: (_) @name))) @definition.function

(data_constructor
  [
    (record name: (_) @name)
    (prefix name: (_) @name)
  ]) @definition.constructor
(newtype_constructor name: (_) @name) @definition.constructor
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
    (signature name: [(variable) @name (prefix_id (_) @name)])
    (signature names: (binding_list name: (_) @name))
    (function name: [(variable) @name (prefix_id (_) @name)])
    (bind name: (variable) @name)
  ] @definition.method)

(instance_declarations
  [
    (function name: [(variable) @name (prefix_id (_) @name)])
    (function (infix operator: (_) @name))
    (bind name: [(variable) @name (prefix_id (_) @name)])
  ] @definition.method)
