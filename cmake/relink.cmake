# cmake -D OBJECTS=list -D ROOT=build -D DIR=out -D SEED=n -D COMPILER=c++ -P relink.cmake
# Writes DIR/order.rsp: the objects named in OBJECTS, sorted by a hash of the seed and their name below ROOT, with
# a filler object of 64 to 1,087 bytes of code after each. The same seed gives the same order in every build folder.
file(READ ${OBJECTS} objects)  # file(STRINGS) ends a line at any byte that isn't ASCII
string(REPLACE "\n" ";" objects "${objects}")

set(keyed)
foreach(object ${objects})
  file(RELATIVE_PATH name ${ROOT} ${object})
  string(SHA256 hash "${SEED} ${name}")
  list(APPEND keyed "${hash} ${object}")
endforeach()
list(SORT keyed)

set(order "")
set(fillers)
foreach(item ${keyed})
  string(SUBSTRING ${item} 0 4 digits)
  string(SUBSTRING ${item} 65 -1 object)
  list(LENGTH fillers index)
  math(EXPR bytes "64 + 0x${digits} % 1024")
  file(WRITE ${DIR}/filler_${index}.s
       ".text\n.skip ${bytes}, 0\n.section .note.GNU-stack,\"\",%progbits\n")
  list(APPEND fillers filler_${index}.s)
  string(APPEND order "\"${object}\"\n\"${DIR}/filler_${index}.o\"\n")
endforeach()

execute_process(COMMAND ${COMPILER} -c ${fillers} WORKING_DIRECTORY ${DIR} COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${DIR}/order.rsp "${order}")
