; C++, in addition to c.top.scm.

(_ (_ "namespace" body: (_) @top))
(ERROR (_ "namespace" body: (_) @top))

(_ (_ "template" parameters: (_)) @top)
