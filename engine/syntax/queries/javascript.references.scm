; JavaScript, in addition to ecmascript.references.scm.

(class_heritage [(identifier) @inherit (_ property: (property_identifier) @inherit)])
